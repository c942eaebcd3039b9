/** Refuses bodies of which parsing has lost something: free JSON is kept as it was sent, or not at all. */

import type { Request, RequestHandler } from 'express'
import { lossesOf } from '../domain/format/json-text.ts'
import { propertiesLimit } from '../domain/format/limits.ts'
import { Invalid } from '../errors.ts'
import { maxProblems } from './problems.ts'

const key = Symbol('text of the body')

interface Carrier extends Request {
  [key]?: string
}

/** Keeps the text of a body that holds free JSON. */
export function keepText(req: Carrier, body: unknown, text: string): void {
  if (propertiesOf(body) !== undefined) req[key] = text
}

/** After the validation, which bounds what a body holds beside `properties`. Larger ones are refused by the domain. */
export const requireExact: RequestHandler = (req: Carrier, _res, next) => {
  const text = req[key]
  if (text !== undefined && JSON.stringify(propertiesOf(req.body) ?? null).length <= propertiesLimit) {
    const losses = lossesOf(text, maxProblems)
    const loc = ['body', 'properties']
    if (losses.length > 0) throw new Invalid(losses.map((msg) => ({ loc, msg, type: 'value_error' })))
  }
  next()
}

function propertiesOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'properties' in body ? body.properties : undefined
}
