/** Refuses bodies that lost something when they were parsed. Free JSON is stored as it was sent, or not at all. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, RequestHandler } from 'express'
import { type Problem, ValidationError } from '../../base/errors.ts'
import { eachLoss } from '../../domain/format/json-text.ts'
import { propertiesLimit } from '../../domain/format/limits.ts'
import { stateOf } from '../request-state.ts'
import { maxProblems } from './validation-errors.ts'

/** Keeps the text of a body that holds free JSON. */
export function keepText(req: Request, body: unknown, text: string): void {
  if (propertiesOf(body) !== undefined || holdsNodes(body)) stateOf(req).bodyText = text
}

/**
 * Refuses losses in a body. Runs after validation, which limits everything except `properties`. The domain refuses
 * larger `properties`.
 */
export const requireExact: RequestHandler = async (req, _res, next) => {
  const { bodyText: text } = stateOf(req)
  if (text !== undefined && JSON.stringify(propertiesOf(req.body) ?? null).length <= propertiesLimit)
    await refuseLosses(text)
  next()
}

/** Refuses losses. @throws ValidationError located at `properties` of the body, or of an item of its `nodes` */
async function refuseLosses(text: string): Promise<void> {
  const problems: Problem[] = []
  for (const loss of eachLoss(text)) {
    if (loss === undefined) {
      await nextTurn()
      continue
    }
    const [first, item] = loss.steps
    const within = first === 'nodes' && typeof item === 'number' ? ['nodes', item] : []
    problems.push({ loc: ['body', ...within, 'properties'], msg: loss.reason, type: 'value_error' })
    if (problems.length >= maxProblems) break
  }
  if (problems.length > 0) throw new ValidationError(problems)
}

function propertiesOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'properties' in body ? body.properties : undefined
}

/** True if some of the body's `nodes` have free JSON. */
function holdsNodes(body: unknown): boolean {
  const nodes = typeof body === 'object' && body !== null && 'nodes' in body ? body.nodes : undefined
  return Array.isArray(nodes) && nodes.some((node) => propertiesOf(node) !== undefined)
}
