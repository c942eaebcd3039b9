/** The format of an import's record. */

import { z } from 'zod'

const states = ['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted'] as const
const phases = ['receiving', 'waiting', 'unpacking', 'reading', 'writing'] as const

export const recordSchema = z.object({
  id: z.string(),
  org_id: z.string(),
  name: z.string(),
  state: z.enum(states),
  dry_run: z.boolean(),
  created_by: z.string(),
  created_at: z.string(),
  started_at: z.string().exactOptional(),
  ended_at: z.string().exactOptional(),
  progress: z.object({ phase: z.enum(phases), done: z.number(), total: z.number() }),
  detail: z.string().exactOptional(),
  /** The process that writes the record. */
  process: z.string(),
})

export type ImportRecord = z.infer<typeof recordSchema>

/** An import as callers see it. */
export type ImportView = Omit<ImportRecord, 'process'>
