import { join } from 'node:path'
import { bundleCommand } from '../../../scripts/bundle-command.mjs'
import { madeOnce } from './made-once.js'

/** The command as it is published. It finds the web app relative to its own folder. */
const bundled = await madeOnce('dist', bundleCommand)

export const commandFile = join(bundled, 'main.mjs')
