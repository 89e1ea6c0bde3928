// One stream for all pages of a browser: it allows six connections to a server, and a page for each would leave none for questions.

import { Stream } from "./stream.js";

const pages = new Set();
const stream = new Stream((said) => pages.forEach((page) => page.postMessage(said)));

self.onconnect = ({ ports: [page] }) => {
  pages.add(page);
  page.onmessage = ({ data }) => {
    if (data === "leave") pages.delete(page);
    if (data === "hurry") stream.hurry();
  };
  stream.introduce((said) => page.postMessage(said));
};
