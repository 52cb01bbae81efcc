// In a variable, because Vite takes `new URL` with a literal `import.meta.url` for an asset.
const module = import.meta.url

/** The address of the app with a slash at its end: the folder above that of its scripts. It may be served under any path. */
export const base: string = new URL('..', module).href
