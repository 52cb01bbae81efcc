/** Whether `value` is a whole number of steps from `base`, exactly: 0.3 is three steps of 0.1, though not in binary. */
export function isOnStep(value: number, { step, base }: { step: number; base: number }): boolean {
  const [a, b, c] = [decimalOf(value), decimalOf(base), decimalOf(step)]
  const places = Math.max(a.places, b.places, c.places)
  const scaled = (part: Decimal) => part.digits * 10n ** BigInt(places - part.places)
  return (scaled(a) - scaled(b)) % scaled(c) === 0n
}

interface Decimal {
  digits: bigint
  places: number
}

/** `digits / 10^places`, read from the shortest text that names this number. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = String(value).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}
