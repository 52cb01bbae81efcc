import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig, type Plugin } from 'vite'

export default defineConfig({
  // The gateway replaces `./` in the page by the path that it is served under.
  base: './',
  plugins: [
    react(),
    tailwindcss(),
    nativeStructuredClone(),
    withoutSvgAttributes(),
    inlineScript('theme.js'),
    preloadChunk('start'),
    writeCompressed(),
  ],
  resolve: { conditions: ['askback-source', ...defaultClientConditions] },
  worker: { format: 'es' },
  // Every browser of the last years preloads modules by itself; where one does not, only a hint is lost.
  build: {
    license: { fileName: 'LICENSES.md' },
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: { '/api': { target: 'http://127.0.0.1:4100', ws: true }, '/login': 'http://127.0.0.1:4100' },
  },
})

/** The Markdown parser brings a polyfill of a function that every browser of the last years has. */
function nativeStructuredClone(): Plugin {
  const polyfill = '@ungap/structured-clone'
  return {
    name: 'native-structured-clone',
    enforce: 'pre',
    apply: 'build',
    resolveId: (id) => (id === polyfill ? `\0${polyfill}` : null),
    load: (id) => (id === `\0${polyfill}` ? 'export default structuredClone' : null),
  }
}

/** The list of all attributes of SVG, for elements that Markdown without raw HTML never contains. */
function withoutSvgAttributes(): Plugin {
  const list = /\/property-information\/lib\/svg\.js$/u
  return {
    name: 'without-svg-attributes',
    enforce: 'pre',
    apply: 'build',
    load: (id) => (list.test(id) ? 'export const svg = { property: {}, normal: {} }' : null),
  }
}

/**
 * Inlines a script of `public/` into the page: it must run before the first paint, and a request for it would delay
 * that. Shortens the page, which every first load waits for.
 */
function inlineScript(script: string): Plugin {
  return {
    name: 'inline-script',
    apply: 'build',
    transformIndexHtml(html) {
      const text = readFileSync(new URL(`public/${script}`, import.meta.url), 'utf8')
      // Comments and indentation are for readers of the sources.
      const code = text.replaceAll(/^ *\/\/.*\n|^ +/gm, '')
      return html
        .replaceAll(/ *<!--[^]*?-->\n|^ +/gm, '')
        .replace(new RegExp(`<script src="[./]+${script}"></script>`), () => `<script>${code}</script>`)
    },
  }
}

/**
 * Preloads a chunk that is run a moment after the page was loaded. `modulepreload` would also compile it at once,
 * before the first paint.
 */
function preloadChunk(name: string): Plugin {
  return {
    name: 'preload-chunk',
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
          href: `./${file}`,
        },
        injectTo: 'head',
      }))
    },
  }
}

/** Writes a compressed copy of each text file, which the gateway serves to clients on other machines. */
function writeCompressed(): Plugin {
  const MIN_BYTES = 1000
  return {
    name: 'write-compressed',
    apply: 'build',
    writeBundle({ dir = '' }, bundle) {
      for (const file of Object.keys(bundle).filter((name) => /\.(?:js|css|html|svg)$/.test(name))) {
        const text = readFileSync(join(dir, file))
        if (text.length > MIN_BYTES)
          writeFileSync(join(dir, `${file}.gz`), gzipSync(text, { level: 9, memLevel: 9 }))
      }
    },
  }
}
