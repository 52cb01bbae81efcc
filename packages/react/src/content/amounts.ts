const whole = new Intl.NumberFormat('en')
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const encoder = new TextEncoder()

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${whole.format(amount)} ${amount === 1 ? one : many}`
}

export function bytes(text: string): string {
  const { length } = encoder.encode(text)
  if (length < 1000) return count(length, 'byte')
  return length < 1_000_000 ? `${tenths.format(length / 1000)} kB` : `${tenths.format(length / 1_000_000)} MB`
}
