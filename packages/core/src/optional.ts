type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Copies an object without the keys whose value is undefined, so that an event either has a field or not. */
export function optional<T extends object>(fields: T): Present<T> {
  const present: Record<string, unknown> = {}
  for (const key in fields) if (fields[key] !== undefined) present[key] = fields[key]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the keys of `fields` whose values are defined
  return present as Present<T>
}
