/** Judges planned nodes by their types, and words faults for users who see the folder. */

import { newObjectDraft } from '../../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../../gitstore/refs/refs.ts'
import type { Problem } from '../../../base/errors.ts'
import { findTree } from '../../../domain/branches/revisions.ts'
import { type Coming, findTypeFaults, readOrgTypes } from '../../../domain/branches/type-rules.ts'
import { parsePointer } from '../../../domain/format/json-pointer.ts'
import { parseJson } from '../../../domain/format/json-text.ts'
import type { PathProblem, TypeRuleProblem } from '../../../domain/format/path-problem.ts'
import { nodeFile } from '../../../domain/format/paths.ts'
import { main, nodeRepo } from '../../../domain/layout.ts'
import { buildTree, type NodeFiles } from '../../../domain/nodes/node-creation.ts'
import type { Services } from '../../../domain/services.ts'
import { typeValue } from '../../../domain/types/org-types.ts'
import { counted } from '../../../domain/types/wording.ts'
import type { PlannedNode } from '../plan/plan.ts'

/** Finds the line of a value in the front matter of a file. Undefined if it is not there. */
export type LineOf = (path: string, steps: readonly (string | number)[]) => Promise<number | undefined>

/** A planned node that is judged. */
interface JudgedNode extends Pick<PlannedNode, 'id' | 'path'> {
  readonly files: NodeFiles
}

/** A rule that a note breaks: the sentence, and where it is broken. */
interface Fault {
  readonly msg: string
  readonly type: string | undefined
  readonly place: string
  readonly pointer: string | undefined
}

interface TypeFaults {
  /** The faults of notes that a strict type refuses, by node id. */
  readonly strict: ReadonlyMap<string, readonly Fault[]>
  /** A sentence on the faults that advisory types list. Undefined if there are none. */
  readonly advice: string | undefined
}

/**
 * Judges changed nodes. The types of all planned nodes count.
 *
 * @param changed the nodes with all files that are written
 */
export async function judgeImport(
  deps: Services,
  orgId: string,
  nodes: readonly JudgedNode[],
  changed: readonly JudgedNode[],
  isNew: (id: string) => boolean,
): Promise<TypeFaults> {
  const strict = new Map<string, readonly Fault[]>()
  const types = await readOrgTypes(deps, orgId)
  if (types.types.length === 0 && !types.refusesUnknown) return { strict, advice: undefined }
  const coming: Coming = new Map(nodes.map((node) => [node.id, { properties: propertiesOf(node) }]))
  let [notes, faults] = [0, 0]
  for (const node of changed) {
    deps.draining.throwIfAborted()
    if (typeValue(coming.get(node.id)?.properties ?? {}) === null) continue
    const repo = nodeRepo(deps.store, orgId, node.id)
    const draft = newObjectDraft(repo, new Map())
    const after = await buildTree(draft, null, node.files)
    const before = isNew(node.id) ? null : await findTree(repo, readRef(repo, main))
    const judge = (enforcement: 'strict' | 'advisory') =>
      findTypeFaults(deps, orgId, draft.repo, { before, after, coming, enforcement })
    const refused = await judge('strict')
    if (refused.length > 0) strict.set(node.id, refused.map(faultOf))
    const advisory = await judge('advisory')
    if (advisory.length > 0) notes++
    faults += advisory.length
  }
  const broken = `${counted(notes, 'note')} break${notes === 1 ? 's' : ''} ${counted(faults, 'rule')} of their types more than before`
  return { strict, advice: faults === 0 ? undefined : `${broken}; the type pages list them` }
}

function propertiesOf({ files }: JudgedNode): Readonly<Record<string, unknown>> {
  const json = parseJson(files.get(nodeFile)?.toString() ?? '{}') as { readonly properties?: Record<string, unknown> } // written by the plan
  return json.properties ?? {}
}

function faultOf({ typed: { says: msg, type, place, pointer } }: TypeRuleProblem): Fault {
  return { msg, type, place, pointer }
}

/** Words the reasons of refusals, with lines of the files. @param refused the reasons by node id */
export async function wordRefusals(
  nodes: readonly JudgedNode[],
  refused: ReadonlyMap<string, readonly (Problem | Fault)[]>,
  lineOf: LineOf | undefined,
): Promise<PathProblem[]> {
  const worded: PathProblem[] = []
  for (const { id, path } of nodes) {
    const reasons: string[] = []
    for (const problem of refused.get(id) ?? []) reasons.push(await wordProblem(path, problem, lineOf))
    if (reasons.length > 0) worded.push({ path, reason: reasons.join('; ') })
  }
  return worded
}

async function wordProblem(path: string, problem: Problem | Fault, lineOf: LineOf | undefined): Promise<string> {
  const fault = 'place' in problem ? problem : ruleIn(problem)
  if (fault === undefined) return problem.msg
  const steps = fault.pointer === undefined ? fault.place.split('.') : (parsePointer(fault.pointer) ?? [])
  // Properties are the front matter, and so are links that became connections.
  const line = await lineOf?.(path, steps.slice(1))
  return `${line === undefined ? '' : `line ${line}: `}${fault.msg}${fault.type === undefined ? '' : ` (type ${fault.type})`}`
}

/** Returns the fault of a problem. Undefined if it is not about a type. */
function ruleIn({ type, msg, ctx = {} }: Problem): Fault | undefined {
  if (type !== 'type_rule') return undefined
  const textOf = (name: string) => (typeof ctx[name] === 'string' ? ctx[name] : undefined)
  return { msg, type: textOf('type'), place: textOf('place') ?? '', pointer: textOf('pointer') }
}
