/** Drafts of users: what they have typed and not saved. */

import type { Handlers } from '../../http/contract/operations.ts'
import type { Feature } from '../feature.ts'
import { deleteDraft, getDraft, listDrafts, listOrgDrafts, putDraft } from './drafts.ts'
import { draftsPage } from './pages/drafts.tsx'
import { removeOldDrafts } from './retention.ts'

const operations = { listDrafts, listOrgDrafts, getDraft, putDraft, deleteDraft } satisfies Partial<Handlers>

export const drafts = {
  operations,
  pages: [{ at: '/me/drafts', ...draftsPage }],
  jobs: () => [
    {
      chore: 'drafts',
      changesContent: true,
      everyMs: 60 * 60_000,
      work: removeOldDrafts,
      failed: 'old drafts could not be removed',
    },
  ],
} satisfies Feature
