// What components are drawn anew for.

import { useEffect, useState } from "./vendor/preact-htm.js";

/** A place that tells its watchers when it has something new. */
export class News {
  watchers = new Set();
  told = 0; // how often

  tell() {
    this.told += 1;
    this.watchers.forEach((watch) => watch());
  }
}

/** Draws a component anew with every news, and with what was told after it was drawn and before it watched: that would come to no one. */
export function useNews(news) {
  const [, draw] = useState(0);
  const drawn = news.told;
  useEffect(() => {
    const watch = () => draw((count) => count + 1);
    news.watchers.add(watch);
    if (news.told !== drawn) watch();
    return () => news.watchers.delete(watch);
  }, [news]);
}
