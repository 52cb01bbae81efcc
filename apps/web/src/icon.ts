const base = import.meta.env.BASE_URL

/** Relative to the page, which may lie in any folder. */
export const icons = { calm: `${base}icon.svg`, waiting: `${base}icon-waiting.svg` }
