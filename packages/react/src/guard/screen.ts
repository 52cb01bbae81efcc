/** What the browser knows about the screen. An object, so that tests without a layout engine can stand in for it. */
export const screen = {
  rectOf: (element: Element): DOMRect => element.getBoundingClientRect(),

  /**
   * Whether an element is what is painted at a point of the viewport. The browser's own hit test answers for everything that
   * can be in the way: scroll containers that clip, dialogs, sticky headers, menus.
   */
  isPaintedAt: (element: Element, x: number, y: number): boolean => {
    const root = element.getRootNode()
    if (!(root instanceof Document || root instanceof ShadowRoot)) return false
    return element.contains(root.elementFromPoint(x, y))
  },
}
