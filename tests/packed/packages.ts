import { spawn, spawnSync, type SpawnSyncOptions } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { root, type Manifest } from '../architecture/workspace.js'
import { madeOnce } from '../e2e/http/made-once.js'

/** The Node.js that installs and runs the packages. `npm run test:newest-node` sets another one. */
const node = process.env['ASKBACK_PACKED_NODE'] ?? process.execPath

export interface PackedManifest extends Manifest {
  readonly exports?: Record<string, unknown>
}

export interface PackedPackage {
  readonly tarball: string
  /** What the tarball contains. */
  readonly folder: string
  readonly manifest: PackedManifest
}

/** Packs every package of the repository, as `npm publish` would, and unpacks it. Once for all test files. */
export async function packAll(): Promise<PackedPackage[]> {
  const folder = await madeOnce('tarballs', pack, { where: 'outside' })
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  return tarballs.map((name) => readPacked(join(folder, name)))
}

function pack(folder: string): void {
  mkdirSync(folder)
  npm(root, ['run', '--silent', 'build'], process.env)
  const names = readdirSync(join(root, 'packages'))
  const workspaces = names.flatMap((name) => ['--workspace', `packages/${name}`])
  npm(root, ['pack', '--silent', '--pack-destination', folder, ...workspaces], process.env)
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  if (tarballs.length !== names.length)
    throw new Error(`${names.length} packages made ${tarballs.length} tarballs.`)
  for (const name of tarballs) unpack(join(folder, name))
}

function unpack(tarball: string): void {
  const target = unpackedFolder(tarball)
  mkdirSync(target)
  run('tar', ['-xzf', tarball, '-C', target])
}

function unpackedFolder(tarball: string): string {
  return tarball.replace(/\.tgz$/u, '')
}

function readPacked(tarball: string): PackedPackage {
  const folder = join(unpackedFolder(tarball), 'package')
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackedManifest
  return { tarball, folder, manifest }
}

/** A folder in which every package is installed. Once for all test files, so none of them may change its packages. */
export async function installAll(): Promise<string> {
  const packages = await packAll()
  return madeOnce('installed', (folder) => install(packages, folder), { where: 'outside' })
}

/** Installs packages into an empty folder, for a person whose home is empty. Only the cache of npm is that of this machine. */
export function install(packages: readonly PackedPackage[], folder: string): void {
  mkdirSync(join(folder, 'home'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  npmInstall(
    folder,
    packages.map(({ tarball }) => tarball),
  )
}

/** `npm install` in a folder, as a person would whose home is in that folder. */
export function npmInstall(folder: string, args: readonly string[] = []): void {
  const options = ['--engine-strict', '--no-audit', '--no-fund', '--prefer-offline']
  npm(folder, ['install', ...options, ...args], environment(folder))
}

/** Neither the settings of this machine, nor those of the npm that runs the tests. */
export function environment(folder: string): NodeJS.ProcessEnv {
  const proxies = Object.entries(process.env).filter(([name]) =>
    /(?:_proxy|_CA_CERTS|^SSL_CERT_FILE)$/iu.test(name),
  )
  return {
    ...Object.fromEntries(proxies),
    PATH: [dirname(node), process.env['PATH']].join(delimiter),
    HOME: join(folder, 'home'),
    CI: '1',
    npm_config_cache: npmCache(),
  }
}

let cache: string | undefined
function npmCache(): string {
  return (cache ??= run('npm', ['config', 'get', 'cache']).trim())
}

/** The packages of an installation. */
export function installedPackages(folder: string): string[] {
  const file = join(folder, 'node_modules/.package-lock.json')
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, unknown> }
  return Object.keys(lock.packages)
}

const BLOCK_BYTES = 4096

/** The space that files take on a disk: whole blocks, which counts small files for more than their size. */
export function diskBytes(folder: string): number {
  return filesOf(folder).reduce(
    (sum, file) => sum + Math.ceil(statSync(file).size / BLOCK_BYTES) * BLOCK_BYTES,
    0,
  )
}

export function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

export interface RunningCommand {
  readonly url: string
  readonly openUrl: string
  readonly token: string
  readonly agentToken: string
  readonly stop: () => Promise<void>
}

/**
 * Runs `askback serve` of an installation.
 *
 * @param owner a folder with the home of the person who runs it
 */
export async function serveInstalled(folder: string, owner = folder): Promise<RunningCommand> {
  const command = join(folder, 'node_modules/.bin/askback')
  const child = spawn(command, ['serve', '--json', '--no-open', '--port', '0'], {
    env: environment(owner),
    cwd: owner,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`askback serve ended with ${code}.`)))
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    ...(JSON.parse(line) as Omit<RunningCommand, 'stop'>),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export function run(
  command: string,
  args: string[],
  options: Pick<SpawnSyncOptions, 'cwd' | 'env' | 'stdio'> = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...options })
  if (status !== 0) {
    throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`, {
      cause: error,
    })
  }
  return stdout
}

function npm(cwd: string, args: string[], env: NodeJS.ProcessEnv): void {
  run('npm', args, { cwd, env })
}
