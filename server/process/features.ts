/** The manifests of all features. No other file imports one. */
import type { Job } from '../domain/background/sweep.ts'
import type { OldestNeeded } from '../domain/events/retention.ts'
import type { Services } from '../domain/services.ts'
import { audit } from '../features/audit/feature.ts'
import { bots } from '../features/bots/feature.ts'
import { drafts } from '../features/drafts/feature.ts'
import type { Feature } from '../features/feature.ts'
import { graph } from '../features/graph/feature.ts'
import { inbox } from '../features/inbox/feature.ts'
import { oauth } from '../features/oauth/feature.ts'
import { types } from '../features/types/feature.ts'
import { vault } from '../features/vault/feature.ts'
import { webhooks } from '../features/webhooks/feature.ts'
import type { PageRoute } from '../pages/pages.ts'

const features: readonly Feature[] = [audit, bots, drafts, graph, inbox, oauth, types, webhooks, vault]

/** Named one by one, so that the compiler finds an operation without a use case. */
export const operations = {
  ...audit.operations,
  ...bots.operations,
  ...drafts.operations,
  ...graph.operations,
  ...inbox.operations,
  ...oauth.operations,
  ...types.operations,
  ...webhooks.operations,
  ...vault.operations,
}

export const letters = { ...inbox.letters }

export const pageRoutes: readonly PageRoute[] = features.flatMap(({ pages = [] }) => pages)

export const endpoints = features.flatMap(({ endpoints = [] }) => endpoints)

export const consentsFor = oauth.consents

export const loops = features.flatMap(({ loops = [] }) => loops)

export function jobsOfFeatures(): readonly Job[] {
  return features.flatMap(({ jobs }) => jobs?.() ?? [])
}

export async function setGauges(deps: Services): Promise<void> {
  for (const { gauges } of features) await gauges?.(deps)
}

/** Returns the oldest that a feature needs. */
export const oldestNeeded: OldestNeeded = async (deps, orgId) => {
  const all = await Promise.all(features.map((one) => one.oldestNeeded?.(deps, orgId)))
  const known = all.filter((seq) => seq !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

export { createImportQueue } from '../features/vault/uploads/queue.ts'
