import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'
import { nativeStructuredClone } from '../web/vite.config.js'

export default defineConfig({
  // The build may be served from any folder.
  base: './',
  publicDir: '../web/public',
  plugins: [react(), tailwindcss(), nativeStructuredClone()],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  worker: { format: 'es' },
  // As in the web app, beside which a gateway serves it, so that both share most of their files.
  build: {
    license: { fileName: 'LICENSES.md' },
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
  },
})
