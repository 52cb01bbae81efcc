/**
 * `next`, with every keyed part that equals its counterpart in `before` replaced by that, so that what did not change
 * keeps its identity. Parts without a key are compared by identity.
 */
export function share<T>(before: unknown, next: T): T {
  if (Object.is(before, next)) return next
  if (Array.isArray(next)) return (Array.isArray(before) ? shareArray(before, next) : next) as T
  return isKeyed(next) && isKeyed(before) ? (shareObject(before, next) as T) : next
}

function shareArray(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  let byKey: Map<string, unknown> | undefined
  const counterpart = (item: unknown, index: number): unknown => {
    const there = before[index]
    if (!isKeyed(item) || (isKeyed(there) && there.key === item.key)) return there
    // Most stand where they stood; the rest is looked for.
    byKey ??= new Map(before.flatMap((one) => (isKeyed(one) ? [[one.key, one]] : [])))
    return byKey.get(item.key)
  }
  const shared = next.map((item, index) => share(counterpart(item, index), item))
  const isSame =
    shared.length === before.length && shared.every((item, index) => Object.is(item, before[index]))
  return isSame ? before : shared
}

function shareObject(before: Keyed, next: Keyed): Keyed {
  const names = Object.keys(next)
  const shared: Keyed = { key: next.key }
  for (const name of names) shared[name] = share(before[name], next[name])
  const isSame =
    names.length === Object.keys(before).length &&
    names.every((name) => Object.hasOwn(before, name) && Object.is(shared[name], before[name]))
  return isSame ? before : shared
}

interface Keyed {
  key: string
  [name: string]: unknown
}

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string'
}
