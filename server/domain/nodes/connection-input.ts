/** Connections that requests send with a new node, or with an item of a batch. */

import { type Problem, ValidationError } from '../../base/errors.ts'
import { placesOf } from '../format/json-text.ts'
import { type ConnectionEntity, defaultConnectionType } from '../format/node-format.ts'
import { edgeIdAt } from '../format/paths.ts'
import { type ConnectionInput, newConnectionId } from './edges.ts'

export type SentConnection = Omit<ConnectionInput, 'expected_head'>

type Loc = readonly (string | number)[]

/** A connection whose target is the id of a node. */
export interface InputConnection extends Omit<ConnectionEntity, 'id'> {
  /** The id that was sent. */
  readonly id: string | undefined
  /** The id that it gets if none was sent. A batch first uses the id of an equal connection. */
  readonly made: string
}

/**
 * Completes the connections of one node.
 *
 * @param loc the part of the request that has `connections`
 * @param targetOf returns the id that a target stands for, or throws ValidationError
 * @throws ValidationError a target is not a node, or ids differ only in case
 */
export function inputConnections(
  sent: readonly SentConnection[],
  loc: Loc,
  targetOf: (name: string, loc: Loc) => string,
): InputConnection[] {
  const problems: Problem[] = []
  const connections = sent.map(({ id, target, type = defaultConnectionType, label = '' }, at) => ({
    ...{ id, type, label, made: newConnectionId() },
    target: collect(problems, () => targetOf(target, [...loc, 'connections', at, 'target'])) ?? target,
  }))
  refuseSameIds(sent, loc, problems)
  if (problems.length > 0) throw new ValidationError(problems)
  return connections
}

/** Refuses ids that differ only in case: on some file systems they are one file. */
function refuseSameIds(connections: readonly SentConnection[], loc: Loc, problems: Problem[]): void {
  const list = [...loc, 'connections']
  const seen = new Map<string, number>()
  for (const [at, { id }] of connections.entries()) {
    if (id === undefined) continue
    const same = seen.get(id.toLowerCase())
    if (same !== undefined) {
      const msg = `${placesOf(list, same, at)} have ids that differ only in case`
      problems.push({ loc: [...list, at, 'id'], msg, type: 'value_error', input: id })
    }
    seen.set(id.toLowerCase(), same ?? at)
  }
}

/**
 * Words a problem of a connection that was sent without an id. Its path has an id that the sender does not know, so
 * the message has only the reason.
 *
 * @param sent the connections of the node that the problem is about
 */
export function wordConnectionProblem(problem: Problem, sent: readonly SentConnection[] | undefined): Problem {
  const { path, reason } = problem.ctx ?? {}
  if (typeof path !== 'string' || typeof reason !== 'string' || edgeIdAt('connections', path) === undefined)
    return problem
  const at = problem.loc.at(-1)
  const isNamed = typeof at === 'number' && sent?.[at]?.id !== undefined
  return isNamed ? problem : { ...problem, msg: reason }
}

/** Runs `work`, and adds the problems that it throws to `problems`. */
export function collect<T>(problems: Problem[], work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    problems.push(...error.problems)
    return undefined
  }
}
