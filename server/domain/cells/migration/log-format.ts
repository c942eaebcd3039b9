/** The JSON in which cells send each other the log of an organisation. */
import { z } from 'zod'

const cell = z.union([z.string(), z.number(), z.null()])
const key = z.array(z.union([z.string(), z.number()])).nullable()
const column = z.string().regex(/^[a-z_]{1,40}$/)

/** The row of a log. */
export const movedLog = z.strictObject({
  org_id: z.string(),
  log_id: z.string(),
  seq: z.int(),
  chain: z.string(),
  base_seq: z.int(),
  base_chain: z.string(),
  began_at: z.string(),
  whole: z.int(),
})

/** A range of rows. */
export const rowRange = z.strictObject({ table: z.string(), after: key, until: key })

/** The rows of a range. */
export const rangeRows = rowRange.extend({ rows: z.array(z.record(column, cell)) })
