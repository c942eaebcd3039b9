/** The report of an import: counts, and the pages, links and problems that it names. */

import type { z } from 'zod'
import * as limits from '../../../base/limits.ts'
import type { Synced } from '../apply/sync.ts'
import type { Plan, PlannedNode } from '../plan/plan.ts'
import { type Imported, undrawnIn } from '../plan/summary.ts'
import type { place, Report } from './report-format.ts'

type Place = z.infer<typeof place>

/** @throws Error the folder was not read */
export function reportOf({ plan, done, target }: Synced): Report {
  if (plan === undefined) throw new Error('An uploaded folder is always read')
  const nodes = new Map(plan.nodes.map((node) => [node.path, node]))
  const places = (paths: readonly string[]): Place[] => first(paths).flatMap((path) => placeOf(nodes.get(path)) ?? [])
  const problems = [...plan.problems, ...done.problems]
  return {
    counts: { ...countsOf(plan, done), problems: problems.length },
    created: places(done.created),
    updated: places(done.updated),
    renamed: first(done.renamed).flatMap((path) => {
      const node = nodes.get(path)
      return node ? [{ ...placeOf(node), from: node.movedFrom ?? path }] : []
    }),
    kept: first(plan.gone).map(({ id, title, path = '' }) => ({ path, node_id: id, title })),
    overwritten: places(done.edited),
    unresolved: first(plan.unresolved).map(({ path, target, kind }) => {
      const node = nodes.get(path)
      return { path, target, kind, ...(node && { node_id: node.id }) }
    }),
    problems: first(problems).map(({ path, reason }) => ({ path, reason })),
    notes: [
      ...target.notes,
      ...(done.notes ?? []),
      ...undrawnIn(plan),
      ...(plan.foundBase === undefined
        ? []
        : [`links from the root of the site were resolved with the base ${plan.foundBase}`]),
    ],
    ...(done.proposals && {
      change_sets: first(done.proposals).map(({ number, pages }) => ({ number, num_items: pages })),
    }),
  }
}

function countsOf({ counts, gone, unresolved }: Plan, done: Imported): Omit<Report['counts'], 'problems'> {
  const { files, nodes, connections: links, attachments } = counts
  return {
    ...{ files, nodes, links, attachments },
    created: done.created.length,
    updated: done.updated.length,
    renamed: done.renamed.length,
    unchanged: done.unchanged,
    kept: gone.length,
    overwritten: done.edited.length,
    unresolved: unresolved.length,
  }
}

function placeOf(node: PlannedNode): Place
function placeOf(node: PlannedNode | undefined): Place | undefined
function placeOf(node: PlannedNode | undefined): Place | undefined {
  return node && { path: node.path, node_id: node.id, title: node.title }
}

function first<T>(items: readonly T[]): readonly T[] {
  return items.slice(0, limits.listedImportItems)
}
