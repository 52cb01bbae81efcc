import { AskbackError } from './errors.js'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export const MAX_JSON_DEPTH = 100

/**
 * Copies a value that must be JSON and survive the digest: what is later shown, stored and hashed can then no longer
 * be changed by whoever passed it in. Properties that are `undefined` count as left out.
 */
export function copyJson(value: unknown, path = 'value', maxDepth = MAX_JSON_DEPTH): Json {
  return copy(value, path, maxDepth)
}

/** RFC 8785: object keys in the order of their UTF-16 code units, no white space, numbers as ECMAScript writes them. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  let text = '{'
  for (const key of Object.keys(value).sort()) {
    if (text.length > 1) text += ','
    text += `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`
  }
  return `${text}}`
}

function copy(value: unknown, path: string, depth: number): Json {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) refuse(path, 'holds a lone surrogate')
      return value
    case 'number':
      if (!Number.isFinite(value)) refuse(path, 'is not a finite number')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        refuse(path, 'is an integer beyond ±(2^53 − 1); send it as a string')
      }
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    case 'object':
      break
    default:
      return refuse(path, `is ${value === undefined ? 'undefined' : `a ${typeof value}`}, which is not JSON`)
  }
  if (value === null) return null
  if (depth <= 0) refuse(path, 'is nested too deeply')
  if (Array.isArray(value)) {
    // Spread, as `map` alone would not visit holes, which are not JSON.
    return [...(value as unknown[])].map((item, index) => copy(item, `${path}[${index}]`, depth - 1))
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) refuse(path, 'is not a plain object')
  const result: { [key: string]: Json } = {}
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    if (isPrototypeKey(key, item)) refuse(`${path}.${key}`, 'is a prototype key')
    if (!key.isWellFormed()) refuse(path, 'has a key with a lone surrogate')
    result[key] = copy(item, `${path}.${key}`, depth - 1)
  }
  return result
}

function isPrototypeKey(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}

function refuse(path: string, why: string): never {
  throw new AskbackError('invalid_request', `${shorten(path)} ${why}.`)
}

function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}
