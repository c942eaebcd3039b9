/** Checks as responses show them: the reports about a commit, and the demands of rules. */
import type { CheckRow } from '../../../index/derived/checks.ts'
import { isBotEmail } from '../format/bots.ts'
import { type CheckRecord, parseCheck } from '../ledger/checks.ts'
import type { DemandedCheck, JudgedCheck } from './judge.ts'

/** The last report under a name. */
export interface Check {
  readonly name: string
  /** `unknown` is a state of a later version. `damaged` is not a check. */
  readonly state: CheckRow['state']
  readonly description?: string
  readonly url?: string
  readonly reported_by?: { readonly id?: string; readonly name: string }
  readonly reported_at?: string
}

/** A check of a pull request's head. */
export interface PullCheck extends Omit<Check, 'state'> {
  /** `missing`: a rule demands it, and no report counts. */
  readonly state: Check['state'] | 'missing'
  /** True if a rule demands it. */
  readonly required: boolean
}

/**
 * True if the report of a user no longer counts, because the user has left. Nobody knows the commits of such a user, as
 * the addresses went too. The report of a bot stays: its address never changes.
 *
 * @param member the user as a member now
 */
export function isByFormerMember(by: { readonly email: string }, member: object | undefined): boolean {
  return member === undefined && !isBotEmail(by.email)
}

type ReportedCheck = JudgedCheck & { readonly row: CheckRow }

/** Returns the checks by name. A demanded check whose report does not count is missing. */
export function toPullChecks({
  checks,
  demanded,
}: {
  readonly checks: readonly ReportedCheck[]
  readonly demanded: readonly DemandedCheck<ReportedCheck>[]
}): PullCheck[] {
  const reports = toChecks(checks.map(({ row }) => row))
  const views = new Map<string, PullCheck>(reports.map((check) => [check.name, { ...check, required: false }]))
  for (const { name, report } of demanded) {
    const known = views.get(name)
    const isMissing = report === undefined || known?.state === 'missing'
    views.set(name, { ...known, name, state: isMissing ? 'missing' : report.state, required: true })
  }
  return [...views.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Converts the rows of a commit, as listChecks and checksAt return them. Leaves out the row without a name. */
export function toChecks(rows: readonly CheckRow[]): Check[] {
  return rows.flatMap((row) => {
    if (row.name === '') return []
    const record = readReport(row)
    return [{ name: row.name, ...(record ? toReport(record) : { state: row.state }) }]
  })
}

/** Reads the report of a row. Undefined if it is damaged, or of a later version. */
export function readReport({ body }: CheckRow): CheckRecord | undefined {
  const record = body === '' ? undefined : parseCheck(JSON.parse(body))
  return record && 'by' in record ? record : undefined
}

export function toReport({ state, description, url, by, at }: CheckRecord): Omit<Check, 'name'> {
  return {
    state,
    ...(description !== undefined && { description }),
    ...(url !== undefined && { url }),
    reported_by: { ...(by.id !== undefined && { id: by.id }), name: by.name },
    reported_at: at,
  }
}
