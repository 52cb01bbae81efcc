import { linkReader } from '@askback/core/internal'
import { readlink } from 'node:fs/promises'

/** The target of a symbolic link; `null` if the path is no link or does not exist. Pass it to `createDesk` on Node.js. */
export const readLink = linkReader(readlink)
