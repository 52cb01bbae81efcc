import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))

// Everything is the default, but for where the packages of this repository are and where the output goes.
export default { output: 'export', distDir: 'dist', turbopack: { root }, outputFileTracingRoot: root }
