// What components are redrawn for.

import { useEffect, useState } from "./vendor/preact-htm.js";

/** A place that tells its watchers when it has something new. */
export class News {
  watchers = new Set();
  count = 0; // of news so far

  tell() {
    this.count += 1;
    this.watchers.forEach((watch) => watch());
  }
}

/** Redraws a component with every news, and once for news that came after it was drawn and before it watched. */
export function useNews(news) {
  const [, draw] = useState(0);
  const drawn = news.count;
  useEffect(() => {
    const watch = () => draw((count) => count + 1);
    news.watchers.add(watch);
    if (news.count !== drawn) watch();
    return () => news.watchers.delete(watch);
  }, [news]);
}
