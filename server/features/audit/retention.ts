/** Deletes old rows of the audit. After a month, cuts IP addresses of rows and removes those of events. */
import { isIP } from 'node:net'
import type { Services } from '../../domain/services.ts'
import { forgetNames } from './forget-names.ts'
import { deleteAuditBefore, listWholeAddresses, setAddressCut } from './rows/audit.ts'
import { removeOriginsBefore } from './rows/events.ts'

/** Rows that are changed in one transaction. */
const rowsAtOnce = 1_000

const dayMs = 24 * 3_600_000
/** Days for which whole IP addresses are kept. */
const addressDays = 30
/** Days for which rows are kept by default. */
const defaultDays = 365

/** Does the next step of all that the audit forgets. Returns false if more remains. */
export async function tidyAudit(deps: Services): Promise<boolean> {
  const { events, config } = deps
  const now = deps.now().getTime()
  const days = config.auditRetentionDays ?? defaultDays
  const isShort = days === 0 || (await events.write((trx) => deleteAuditBefore(trx, now - days * dayMs, rowsAtOnce)))
  const isCut = await cutAddresses(deps, now - addressDays * dayMs)
  const isRemoved = await events.write((trx) => removeOriginsBefore(trx, now - addressDays * dayMs, rowsAtOnce))
  const isForgotten = await forgetNames(deps)
  return isShort && isCut && isRemoved && isForgotten
}

async function cutAddresses({ events }: Services, beforeMs: number): Promise<boolean> {
  const rows = await listWholeAddresses(events.read, beforeMs, rowsAtOnce)
  if (rows.length > 0)
    await events.write(async (trx) => {
      for (const { n, address } of rows) await setAddressCut(trx, n, networkOf(address ?? ''))
    })
  return rows.length < rowsAtOnce
}

/** Returns the IPv4 /24 or the IPv6 /48 of an IP address. Null: it is not one. */
export function networkOf(text: string): string | null {
  const [address = ''] = text.replace(/^::ffff:(?=\d+\.)/i, '').split('/')
  if (isIP(address) === 4) return address.replace(/\.\d+$/, '.0/24')
  if (isIP(address) !== 6) return null
  const [before = '', after] = (address.split('%', 1)[0] ?? '').split('::')
  const left = before === '' ? [] : before.split(':')
  const right = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 3)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/48`
}
