import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/**
 * The types of the frameworks are not part of the root project, which must compile without them. Theirs are not exact about optional
 * properties, so this compiles with the declarations of our packages, as their users do.
 */
it('the types of the real frameworks fit those that @askback/client declares', () => {
  expect(compile('-b', '../../packages/client')).toEqual({ status: 0, stdout: '' })
  expect(compile('-p', '.')).toEqual({ status: 0, stdout: '' })
})

function compile(...args: string[]) {
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...args], { cwd, encoding: 'utf8' })
  return { status, stdout }
}
