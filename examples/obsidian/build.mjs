// Builds the plug-in: main.js, one CommonJS file, and styles.css beside it, as Obsidian loads them. Copy both with manifest.json to
// .obsidian/plugins/askback-inbox of a vault.
import { fileURLToPath } from 'node:url'
import { build, defaultClientConditions } from 'vite'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Obsidian loads one file. Without their files, what the workers do runs in the page. */
const withoutWorkers = {
  name: 'without-workers',
  /**
   * @param {unknown} _options
   * @param {Record<string, unknown>} bundle
   */
  generateBundle(_options, bundle) {
    for (const name of Object.keys(bundle)) if (name.startsWith('assets/')) delete bundle[name]
  },
}

/** @param {{ outDir?: string; conditions?: string[] }} [options] */
export async function buildPlugin({ outDir = folder, conditions = [] } = {}) {
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    plugins: [withoutWorkers],
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions: [...conditions, ...defaultClientConditions] },
    build: {
      outDir,
      emptyOutDir: false,
      lib: { entry: 'main.tsx', formats: ['cjs'], fileName: () => 'main.js', cssFileName: 'styles' },
      rolldownOptions: { external: ['obsidian'], output: { codeSplitting: false } },
    },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPlugin()
