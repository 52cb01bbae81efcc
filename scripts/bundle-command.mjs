// Runs before `askback` is packed or published. It bundles the command with everything it uses into the folder `bundle`, and copies the
// built web app into `web`. Outside of the bundle stay libsql, with one binary for each system, and jiti, which loads parts of itself by
// their path. An installed command then consists of a few packages instead of 200, and starts faster. Nothing is minified, so that people can read what they run.
// `LICENSES.txt` holds the licences of the bundled packages. In the repository the command uses neither folder.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { root } from './workspace.mjs'

const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/iu
/** Optional parts of `pg` and `ws`. They are not installed with the command, so looking for them must fail as it does without a bundle. */
const OPTIONAL = ['pg-native', 'bufferutil', 'utf-8-validate']

const command = join(root, 'packages/cli')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleCommand(join(command, 'bundle'))
  await bundleTypes(join(command, 'bundle'))
  await import('./build-web.mjs')
  if (!process.exitCode) {
    const web = join(command, 'web')
    cpSync(join(root, 'apps/web/dist'), web, { recursive: true })
    removeOldFiles(web, join(root, 'apps/web/dist'))
    cpSync(join(root, 'packages/react/LICENSE-lucide'), join(web, 'LICENSE-lucide'))
  }
}

/**
 * Writes `main.mjs`, `define-config.mjs` (the entry point `askback/config`) and the files that these load. The end-to-end tests run this bundle, too.
 *
 * @param {string} folder
 */
export async function bundleCommand(folder) {
  /** @type {string[]} */
  const problems = []
  const build = await rolldown({
    input: [join(command, 'src/main.ts'), join(command, 'src/define-config.ts')],
    platform: 'node',
    external: [/^libsql(?:\/|$)/u, 'jiti', ...OPTIONAL],
    resolve: {
      conditionNames: ['askback-source', 'node', 'default'],
      // Its `main` loads its other files in a way that no bundler understands.
      alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    },
    onLog: (level, log) => void (level === 'warn' && problems.push(log.message)),
  })
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    cleanDir: true,
    comments: false,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  await build.close()
  if (problems.length > 0) throw new Error(`The command cannot be bundled:\n${problems.join('\n')}`)
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  const packages = [...new Set(modules.flatMap(packageFolderOf))].sort()
  writeFileSync(join(folder, 'LICENSES.txt'), packages.map(licenseOf).join('\n'))
}

/**
 * Writes the types of the entry point `askback/config` as one file: the packages that they come from are not installed with the command.
 * It reads the declarations that `npm run build` makes.
 *
 * @param {string} folder
 */
async function bundleTypes(folder) {
  const build = await rolldown({
    input: { 'define-config': join(command, 'dist/define-config.d.ts') },
    plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false })],
    // What remains of the imports of others is zod, which is a dependency.
    external: (id) => !/^[./]|^@askback\//u.test(id),
  })
  await build.write({ dir: folder, entryFileNames: '[name].mts' })
  await build.close()
}

/**
 * Removes files that the source does not have, and no folder: a test that lists all files may run at the same time.
 *
 * @param {string} copy
 * @param {string} source
 */
function removeOldFiles(copy, source) {
  for (const path of readdirSync(copy, { recursive: true, encoding: 'utf8' })) {
    if (!existsSync(join(source, path))) rmSync(join(copy, path))
  }
}

/** The folder of the package of others that a module is in. @param {string} module */
function packageFolderOf(module) {
  const end = /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(module.replaceAll('\0', ''))
  return end ? [end[0]] : []
}

/** @param {string} folder */
function licenseOf(folder) {
  /** @type {{ name: string; version: string; license?: string }} */
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (license === undefined) throw new Error(`${basename(folder)} names no licence.`)
  const files = readdirSync(folder).filter((file) => LICENSE_FILE.test(file))
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim())
  return [`${name} ${version} (${license})`, '', ...texts, '', '-'.repeat(80), ''].join('\n')
}
