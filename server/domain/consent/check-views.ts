/** The checks of a pull request's head: what was reported, and what rules demand. */
import type { CheckRow } from '../../../index/derived/checks.ts'
import type { DemandedCheck, JudgedCheck } from './judge.ts'

/** A check as responses show it. */
export interface CheckView {
  readonly name: string
  /** `missing`: a rule demands it, and nothing was reported that counts. */
  readonly state: 'pending' | 'success' | 'failure' | 'unknown' | 'damaged' | 'missing'
  /** True if a rule demands it. */
  readonly required: boolean
  readonly description?: string
  readonly url?: string
  readonly reported_by?: { readonly id?: string; readonly name: string }
  readonly reported_at?: string
}

interface Report {
  readonly description?: string
  readonly url?: string
  readonly by?: { readonly id?: string; readonly name: string; readonly email: string }
  readonly at?: string
}

type ReportedCheck = JudgedCheck & { readonly row: CheckRow }

/** Returns the checks by name. A demanded check whose report does not count is missing. */
export function toCheckViews({
  checks,
  demanded,
}: {
  readonly checks: readonly ReportedCheck[]
  readonly demanded: readonly DemandedCheck<ReportedCheck>[]
}): CheckView[] {
  const views = new Map<string, CheckView>()
  for (const { name, state, row } of checks)
    if (name !== '') views.set(name, { name, state, required: false, ...viewOf(row) })
  for (const { name, report } of demanded) {
    const known = views.get(name)
    const isMissing = report === undefined || known?.state === 'missing'
    views.set(name, { ...known, name, state: isMissing ? 'missing' : report.state, required: true })
  }
  return [...views.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function viewOf(row: CheckRow): Omit<CheckView, 'name' | 'state' | 'required'> {
  const { description, url, by, at } = reportOf(row)
  return {
    ...(description !== undefined && { description }),
    ...(url !== undefined && { url }),
    ...(by && { reported_by: { ...(by.id !== undefined && { id: by.id }), name: by.name } }),
    ...(at !== undefined && { reported_at: at }),
  }
}

/** Returns what was reported. Empty if the file is damaged, or of a later version. */
export function reportOf({ state, body }: CheckRow): Report {
  return state === 'unknown' || state === 'damaged' ? {} : (JSON.parse(body) as Report) // parsed when it was indexed
}
