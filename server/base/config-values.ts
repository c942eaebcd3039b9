/** What variables of the environment may hold. */

import { isIP } from 'node:net'
import { z } from 'zod'
import { excerpt } from '../domain/format/excerpt.ts'

export function wholeNumber(least: number, most: number) {
  const isAllowed = (text: string) => /^\d+$/.test(text.trim()) && Number(text) >= least && Number(text) <= most
  return z
    .string()
    .refine(isAllowed, otherwise(`is a whole number from ${least} to ${most}`))
    .transform(Number)
}

export function oneOf<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, otherwise(`is one of ${values.join(', ')}`))
}

/** Quotes the value: not for addresses, which may hold a password. */
function otherwise(allowed: string) {
  return { error: ({ input }: { input?: unknown }) => `${allowed}, not ${JSON.stringify(excerpt(String(input)))}` }
}

/** @param allowed one sentence for all that it may not be */
export function webAddress(isAllowed: (address: string) => boolean, allowed: string) {
  return z.url({ protocol: /^https?$/, error: allowed, abort: true }).refine(isAllowed, allowed)
}

/** A base URL; paths are appended. */
export function isPlain(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { username, password } = new URL(address)
  return username === '' && password === '' && !/[?#]/.test(address)
}

/** The service itself, not what a proxy makes of its paths. */
export function isOrigin(address: string): boolean {
  return isPlain(address) && new URL(address).pathname === '/'
}

export function isPostgres(address: string): boolean {
  return URL.canParse(address) && /^postgres(ql)?:$/.test(new URL(address).protocol)
}

/** Others would be taken for less than they say. */
const tlsModes: readonly (string | null)[] = [null, 'disable', 'require', 'verify-ca', 'verify-full']

export function hasKnownMode(address: string): boolean {
  return !URL.canParse(address) || tlsModes.includes(new URL(address).searchParams.get('sslmode'))
}

export function listed(text: string): string[] {
  return text.split(',').map((one) => one.trim())
}

const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

export function areNetworks(list: readonly string[]): boolean {
  return list.every((one) => {
    const [address = '', prefix, more] = one.split('/')
    if (namedNetworks.includes(one)) return true
    const bits = isIP(address) === 6 ? 128 : 32
    const isPrefix = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    return isIP(address) !== 0 && isPrefix && more === undefined
  })
}
