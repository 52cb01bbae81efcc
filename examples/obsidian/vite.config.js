// Obsidian loads one CommonJS file, main.js, and its styles. Without the files of workers, what they do runs in the page.
const withoutWorkers = {
  name: 'without-workers',
  generateBundle(_options, bundle) {
    for (const name of Object.keys(bundle)) if (name.startsWith('assets/')) delete bundle[name]
  },
}

export default {
  plugins: [withoutWorkers],
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: '.',
    emptyOutDir: false,
    lib: { entry: 'main.tsx', formats: ['cjs'], fileName: () => 'main.js', cssFileName: 'styles' },
    rolldownOptions: { external: ['obsidian'], output: { codeSplitting: false } },
  },
}
