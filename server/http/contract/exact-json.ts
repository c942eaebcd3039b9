/** Refuses bodies that lost something when they were parsed. Free JSON is stored as it was sent, or not at all. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, RequestHandler } from 'express'
import { type Problem, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { eachLoss, isRecord } from '../../domain/format/json-text.ts'
import { stateOf } from '../request-state.ts'

/** Keeps the text of a body that holds free JSON. */
export function keepText(req: Request, body: unknown, text: string): void {
  if (freeOf(body).length > 0 || holdsNodes(body)) stateOf(req).bodyText = text
}

/**
 * Refuses losses in a body. Runs after validation, which limits everything except free JSON. The domain refuses
 * larger free JSON.
 */
export const requireExact: RequestHandler = async (req, _res, next) => {
  const { bodyText: text } = stateOf(req)
  if (text !== undefined && freeOf(req.body).every((json) => JSON.stringify(json).length <= limits.propertiesBytes))
    await refuseLosses(text)
  next()
}

/** Refuses losses. @throws ValidationError located at free JSON of the body, or of an item of its `nodes` */
async function refuseLosses(text: string): Promise<void> {
  const problems: Problem[] = []
  for (const loss of eachLoss(text)) {
    if (loss === undefined) {
      await nextTurn()
      continue
    }
    const [first, item] = loss.steps
    const within = first === 'nodes' && typeof item === 'number' ? ['nodes', item] : []
    const field = freeFields.find((name) => name === loss.steps[within.length]) ?? 'properties'
    problems.push({ loc: ['body', ...within, field], msg: loss.reason, type: 'value_error' })
    if (problems.length >= limits.problems) break
  }
  if (problems.length > 0) throw new ValidationError(problems)
}

/** The fields that hold free JSON. */
const freeFields = ['properties', 'merge_properties'] as const

function freeOf(body: unknown): unknown[] {
  return isRecord(body) ? freeFields.flatMap((name) => (body[name] === undefined ? [] : [body[name]])) : []
}

/** True if some of the body's `nodes` have free JSON. */
function holdsNodes(body: unknown): boolean {
  const nodes = isRecord(body) ? body.nodes : undefined
  return Array.isArray(nodes) && nodes.some((node) => freeOf(node).length > 0)
}
