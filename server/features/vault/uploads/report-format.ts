/** The format of an import's report. */

import { z } from 'zod'
import { type UnresolvedKind, unresolvedKinds } from '../plan/unresolved.ts'

export const place = z.object({ path: z.string(), node_id: z.string(), title: z.string() })
const kinds = Object.keys(unresolvedKinds) as [UnresolvedKind, ...UnresolvedKind[]] // it has keys

export const reportSchema = z.object({
  counts: z.object({
    files: z.number(),
    nodes: z.number(),
    created: z.number(),
    updated: z.number(),
    renamed: z.number(),
    unchanged: z.number(),
    kept: z.number(),
    overwritten: z.number(),
    links: z.number(),
    attachments: z.number(),
    unresolved: z.number(),
    problems: z.number(),
  }),
  created: z.array(place),
  updated: z.array(place),
  renamed: z.array(place.extend({ from: z.string() })),
  kept: z.array(place),
  overwritten: z.array(place),
  unresolved: z.array(
    z.object({ path: z.string(), target: z.string(), node_id: z.string().exactOptional(), kind: z.enum(kinds) }),
  ),
  problems: z.array(z.object({ path: z.string(), reason: z.string() })),
  notes: z.array(z.string()),
  change_sets: z.array(z.object({ number: z.number(), num_items: z.number() })).exactOptional(),
})

export type Report = z.infer<typeof reportSchema>
