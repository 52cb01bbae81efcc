import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig, type Plugin } from 'vite'

export default defineConfig({
  plugins: [react(), tailwindcss(), writtenInto('theme.js'), fetchAtOnce('start'), compressed()],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  worker: { format: 'es' },
  build: { chunkSizeWarningLimit: 1000 },
  server: {
    proxy: { '/api': { target: 'http://127.0.0.1:4100', ws: true }, '/login': 'http://127.0.0.1:4100' },
  },
})

/** A script of `public/` that must run before the first paint is not worth a request of its own. */
function writtenInto(script: string): Plugin {
  return {
    name: 'written-into',
    apply: 'build',
    transformIndexHtml(html) {
      const text = readFileSync(new URL(`public/${script}`, import.meta.url), 'utf8')
      return html.replace(`<script src="/${script}"></script>`, () => `<script>${text}</script>`)
    },
  }
}

/** A part that is run a moment later is fetched with the page, and not compiled yet as `modulepreload` would have it. */
function fetchAtOnce(name: string): Plugin {
  return {
    name: 'fetch-at-once',
    transformIndexHtml(_, { bundle = {} }) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const part = chunks.find((chunk) => chunk.name === name)
      const wanted = [part?.fileName, ...(part?.imports ?? [])]
      const needed = chunks.filter(({ fileName, isEntry }) => wanted.includes(fileName) && !isEntry)
      const files = needed.flatMap(({ fileName, viteMetadata }) => [
        ...(viteMetadata?.importedCss ?? []),
        fileName,
      ])
      return files.map((file) => ({
        tag: 'link',
        attrs: {
          rel: 'preload',
          as: file.endsWith('.css') ? 'style' : 'script',
          crossorigin: true,
          href: `/${file}`,
        },
        injectTo: 'head',
      }))
    },
  }
}

/** Beside each text, for whoever is not on the same machine: the gateway sends it as it is. */
function compressed(): Plugin {
  const SMALLEST = 1000
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir = '' }, bundle) {
      for (const file of Object.keys(bundle).filter((name) => /\.(?:js|css|html|svg)$/.test(name))) {
        const text = readFileSync(join(dir, file))
        if (text.length > SMALLEST) writeFileSync(join(dir, `${file}.gz`), gzipSync(text, { level: 9 }))
      }
    },
  }
}
