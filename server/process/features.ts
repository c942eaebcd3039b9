/** All features. No other file outside a feature imports one. */
import type { Job } from '../domain/background/sweep.ts'
import { bots } from '../features/bots/feature.ts'
import type { Feature } from '../features/feature.ts'
import { graph } from '../features/graph/feature.ts'
import { inbox } from '../features/inbox/feature.ts'
import { types } from '../features/types/feature.ts'
import type { PageRoute } from '../pages/pages.ts'

const features: readonly Feature[] = [bots, graph, inbox, types]

/** Named one by one, so that the compiler finds an operation without a use case. */
export const operations = { ...bots.operations, ...graph.operations, ...inbox.operations, ...types.operations }

export const letters = { ...inbox.letters }

export const pageRoutes: readonly PageRoute[] = features.flatMap(({ pages = [] }) => pages)

export function jobsOfFeatures(): readonly Job[] {
  return features.flatMap(({ jobs }) => jobs?.() ?? [])
}
