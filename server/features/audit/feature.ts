/** The audit: reading, exporting and forgetting what `domain/audit` writes. */

import type { Handlers } from '../../http/contract/operations.ts'
import type { Feature } from '../feature.ts'
import { listMyAudit, listOrgAudit, listServiceAudit } from './listing.ts'
import { showAudit } from './pages/org-audit.tsx'
import { tidyAudit } from './retention.ts'

const operations = { listMyAudit, listOrgAudit, listServiceAudit } satisfies Partial<Handlers>

export const audit = {
  operations,
  pages: [{ at: '/o/{org}/settings/audit', show: showAudit }],
  jobs: () => [
    {
      chore: 'audit',
      everyMs: 60_000,
      work: tidyAudit,
      failed: 'old rows of the audit could not be removed',
    },
  ],
} satisfies Feature
