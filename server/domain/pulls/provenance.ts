/** How a pull request came about, as the ledger records it. */
import type { PullRow } from '../../../index/derived/pulls.ts'
import type { RecordedVia } from '../via.ts'

export interface ShownVia extends RecordedVia {
  readonly recorded: 'ledger'
}

/** Returns the fields of an answer. Each is absent for a session, and if an older version recorded the event. */
export function provenance({ opened_via, ended_via }: Pick<PullRow, 'opened_via' | 'ended_via'>): {
  readonly opened_via?: ShownVia
  readonly ended_via?: ShownVia
} {
  return {
    ...(opened_via !== null && { opened_via: shown(opened_via) }),
    ...(ended_via !== null && { ended_via: shown(ended_via) }),
  }
}

function shown(json: string): ShownVia {
  return { ...(JSON.parse(json) as RecordedVia), recorded: 'ledger' } // the index has it from parseRecordedVia
}

/** The filter of a list by `via`. */
export function byAgentOf({ via }: { readonly via?: 'agent' | 'person' }): { readonly byAgent?: 0 | 1 } {
  return via === undefined ? {} : { byAgent: via === 'agent' ? 1 : 0 }
}
