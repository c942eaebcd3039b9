/** Records that the configuration differs from that of the start before. */
import { createHash } from 'node:crypto'
import { findLastDetail } from '../../../index/log/audit.ts'
import type { Services } from '../services.ts'
import { type AuditDeps, audit } from './audit.ts'

/** Settings that hold secrets. Only whether they are set is recorded. */
const secret: readonly string[] = ['metricsToken', 'databaseUrl']

/** Hashes of settings by name. A setting that is not set is absent. */
type Hashes = Readonly<Record<string, string>>

/** Compares the configuration with the last one that was recorded. A failure is logged. */
export async function auditConfig(deps: AuditDeps): Promise<void> {
  try {
    const settings = hashesOf(deps.config)
    const last = await findLastDetail(deps.events.read, 'config.changed')
    const before = last ? (JSON.parse(last) as { readonly settings?: Hashes }).settings : undefined // this function has made it
    const names = [...new Set([...Object.keys(settings), ...Object.keys(before ?? {})])].sort()
    const changed = before && names.filter((name) => before[name] !== settings[name])
    if (changed?.length === 0) return
    const hash = hashOf(settings)
    await audit(deps, { action: 'config.changed', detail: { hash, ...(changed && { changed }), settings } })
  } catch (error) {
    deps.log.error({ err: error }, 'a change of the configuration could not be recorded')
  }
}

function hashesOf(config: Services['config']): Hashes {
  const set = Object.entries(config).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set.map(([name, value]) => [name, secret.includes(name) ? 'set' : hashOf(value)]))
}

/** Returns the first 12 hex digits of a SHA-256. */
function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
}
