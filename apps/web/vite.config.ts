import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  worker: { format: 'es' },
  // What has light-dark(), which must not be rewritten: the components' theme can be set on any element.
  build: { target: ['chrome123', 'firefox120', 'safari17.5'], chunkSizeWarningLimit: 1000 },
  server: {
    proxy: { '/api': { target: 'http://127.0.0.1:4100', ws: true }, '/login': 'http://127.0.0.1:4100' },
  },
})
