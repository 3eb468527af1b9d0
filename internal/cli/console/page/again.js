import { lookAgain } from "./api.js";

/**
 * Again is the button that has AWS read again. The program reads it when the calls are within the budget, and what the page in
 * front has asked commands for is asked again after that.
 */
export class Again {
  /** page gives the page in front: {again, calls}, of which both may be missing. */
  constructor(button, page) {
    this.button = button;
    this.page = page;
    button.addEventListener("click", () => this.click());
  }

  async click() {
    const page = this.page();
    this.waiting = { page, reads: this.news?.reads || 0 };
    this.busy(true);
    try {
      await lookAgain(page.calls || 0);
    } catch {
      this.waiting = undefined; // why is shown where looks are
      this.busy(false);
    }
  }

  /** take has what a look has said. */
  async take(news) {
    this.news = news;
    if (!this.waiting || news.reads <= this.waiting.reads) return;
    const { page } = this.waiting;
    this.waiting = undefined;
    await page.again?.();
    this.busy(Boolean(this.waiting));
  }

  busy(is) { this.button.setAttribute("aria-busy", String(is)); }

  /** waits reports whether the next look is one that was asked for, and waits for calls within the limit. */
  waits() { return Boolean(this.news?.wanted) && this.news.next >= 1; }
}
