import { AskbackError } from '@askback/protocol'
import type { DeskOptions } from './desk-options.js'
import { checkTimeout } from './prepare-request.js'

const LIMITS = new Set(['pendingPerSession', 'requestBytes', 'sessions', 'inMemory'])

type Check = (value: unknown) => boolean

const isFunction: Check = (value) => typeof value === 'function'
const isCount: Check = (value) => typeof value === 'number' && value >= 0
const isDuration: Check = (value) => typeof value === 'number' && value > 0 && value < Infinity

/** Whoever makes a desk hears of a mistake at once, and not when the first person is to be asked. */
export function checkOptions(options: DeskOptions): void {
  const given = fieldsOf(options, 'options')
  if (!can(['append', 'read', 'onAppend'])(given.store))
    refuse('store', 'is no store; memoryStore() makes one')
  const may = (name: string, check: Check, what: string, values = given) => {
    const value = values[name]
    if (value !== undefined && !check(value)) refuse(name, `must be ${what}`)
  }
  may('kinds', Array.isArray, 'a list of definitions')
  may('clock', can(['now', 'alarm']), 'a clock, with now() and alarm()')
  for (const name of ['newId', 'readLink', 'onError']) may(name, isFunction, 'a function')
  for (const name of ['retentionMs', 'repairMs', 'maxStaleMs'])
    may(name, isDuration, 'a number of milliseconds above 0')
  const limits = fieldsOf(given.limits ?? {}, 'limits')
  for (const name of Object.keys(limits)) {
    if (!LIMITS.has(name)) refuse(name, `is no limit; there are ${[...LIMITS].join(', ')}`)
    may(name, isCount, 'a number, 0 or more', limits)
  }
  const { defaultMs = null } = fieldsOf(given.timeouts ?? {}, 'timeouts')
  checkTimeout(defaultMs, 'timeouts.defaultMs')
}

/** Whether it has methods of these names. */
function can(methods: string[]): Check {
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => isFunction((value as Record<string, unknown>)[name]))
}

function fieldsOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return refuse(name, 'must be an object')
  return value as Record<string, unknown>
}

function refuse(name: string, why: string): never {
  throw new AskbackError('invalid_request', `The desk cannot be made: ${name} ${why}.`)
}

/** An `onError` that throws must not hide the error that it was called with. */
export function safely(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error)
    } catch (another) {
      reportError(error)
      reportError(another)
    }
  }
}

export function reportError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the last resort of a desk that was given no onError
  console.error('askback:', error)
}
