/** Bounds the JSON that another Grove answers with. */

import type { JsonBounds } from '../base/json-bounds.ts'
import { depthLimit } from '../domain/format/limits.ts'

/** A node with properties of 1 MiB and 10,000 edges of each kind has 700,000 values; a few levels stand around it. */
export const answerBounds = { levels: depthLimit + 10, values: 1_000_000 } as const satisfies JsonBounds
