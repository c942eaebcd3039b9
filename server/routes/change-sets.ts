/** Change sets. */
import { updateChangeSet } from '../domain/sets/changes.ts'
import { putSetCheck } from '../domain/sets/checks.ts'
import { getChangeSetImpact } from '../domain/sets/impact.ts'
import { mergeChangeSet } from '../domain/sets/merge.ts'
import { openChangeSet } from '../domain/sets/open.ts'
import { submitSetReview } from '../domain/sets/reviews.ts'
import { undoChangeSet } from '../domain/sets/undo.ts'
import { updateChangeSetBranches } from '../domain/sets/update.ts'
import { getChangeSet, listChangeSets } from '../domain/sets/views.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt } from '../http/responses/responses.ts'

export const changeSetRoutes = {
  openChangeSet: createdAt('/orgs/{org_id}/change-sets/{change_set.number}', openChangeSet),
  listChangeSets,
  getChangeSet,
  getChangeSetImpact,
  updateChangeSet,
  mergeChangeSet,
  updateChangeSetBranches,
  undoChangeSet: createdAt('/orgs/{org_id}/change-sets/{change_set.number}', undoChangeSet),
  putChangeSetCheck: putSetCheck,
  submitChangeSetReview: createdAt('/orgs/{org_id}/change-sets/{number}', submitSetReview),
} satisfies Partial<Handlers>
