import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'
export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '/tmp/stories-cache',
  plugins: [react()],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  server: { port: 5199, strictPort: true },
})
