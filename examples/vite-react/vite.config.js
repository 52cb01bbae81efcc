// While you develop, Vite serves the page, and server.mjs everything else.
export default { server: { proxy: { '/askback': { target: 'http://127.0.0.1:3000', ws: true } } } }
