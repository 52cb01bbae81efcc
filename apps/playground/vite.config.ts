import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  // The build may be served from any folder.
  base: './',
  publicDir: '../web/public',
  plugins: [react(), tailwindcss()],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  worker: { format: 'es' },
  build: { license: { fileName: 'LICENSES.md' }, chunkSizeWarningLimit: 1000 },
})
