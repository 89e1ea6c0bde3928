// What a recording needs and RPC does not offer: to go back in the tree of a session, and to edit what the model is shown.
export default function (pi: any) {
  pi.registerCommand('back', {
    description: 'Go back to an entry',
    handler: async (id: string, ctx: any) => {
      await ctx.navigateTree(id, { summarize: false })
      ctx.ui.notify(`back at ${ctx.sessionManager.getLeafId()}`, 'info')
    },
  })
  pi.registerCommand('omit', {
    description: 'Show the model an entry no more',
    handler: async (id: string, ctx: any) => {
      ctx.sessionManager.appendContextEdit(id, null)
      ctx.ui.notify(`omitted ${id}`, 'info')
    },
  })
}
