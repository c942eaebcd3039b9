/** Resolving the conflicts of a proposal: both sides of each passage, and a choice. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../base/errors.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { problemOf } from '../parts/editor-form.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { numberOf } from '../parts/proposal-acts.ts'
import { isEditable } from '../parts/rights.ts'
import type { Pull } from '../parts/talk.ts'
import { type Choice, type Question, type Resolving, readResolving, resolutionOf } from '../resolving.ts'
import { TextDiff } from '../text/diff.tsx'
import { type Effort, newEffort } from '../text/word-diff.ts'

export async function showResolve(visit: PageContext): Promise<PageResult> {
  const { at, pr } = await readProposal(visit)
  // Nothing is left to resolve, for example after the form was sent twice.
  if (!pr.merge_reasons.includes('diverged')) return redirect(303, linkTo(visit, at, pr))
  const resolving = await readResolving(visit.api, at.path, pr)
  return resolving === undefined ? gitPage(visit, at, pr, []) : resolvePage(visit, { at, pr, resolving })
}

export async function takeResolve(visit: PageContext): Promise<PageResult> {
  const { api, form } = visit
  const { at, pr } = await readProposal(visit)
  const resolving = await readResolving(api, at.path, pr)
  if (resolving === undefined) return gitPage(visit, at, pr, [])
  const asked = { at, pr, resolving }
  if (form.get('source') !== resolving.source || form.get('target') !== resolving.target) {
    const says = 'The page or the proposal has changed again. Choose once more.'
    // The earlier choices were made for other passages.
    return resolvePage({ ...visit, form: new URLSearchParams() }, asked, { says, status: 409 })
  }
  const resolution = resolutionOf(resolving, form)
  if (resolution === undefined)
    return resolvePage(visit, asked, { says: 'Choose one side at each place.', status: 422 })
  try {
    const body = resolution.changes.length > 0 ? { resolution } : {}
    await api.updatePullBranch({ path: { ...at.path, number: pr.number }, body })
  } catch (error) {
    if (error instanceof AppError && error.code === 'merge_conflict') return gitPage(visit, at, pr, pathsIn(error))
    const [says, status] = problemOf(error)
    return resolvePage(visit, asked, { says, status })
  }
  const isEdited = form.get('act') === 'edit'
  return redirect(303, isEdited ? visit.urls.edit(at.org.id, at.node.id, pr.source_branch) : linkTo(visit, at, pr))
}

/** @throws AppError unauthenticated, forbidden */
async function readProposal(visit: PageContext): Promise<{ readonly at: AtNode; readonly pr: Pull }> {
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to resolve conflicts')
  const at = await readAtNode(visit)
  const { pr } = await visit.api.getPull({ path: { ...at.path, number: numberOf(visit) } })
  if (pr.status === 'open' && !isEditable(pr, at.org, visit.person))
    throw new AppError('forbidden', 'Only its author and editors may change this proposal')
  return { at, pr }
}

function linkTo({ urls }: PageContext, { org, node }: AtNode, { number }: Pull): string {
  return urls.proposal(org.id, node.id, number, node.title)
}

function pathsIn({ facts }: AppError): readonly string[] {
  return Array.isArray(facts.paths) ? facts.paths.map(String) : []
}

interface Problem {
  readonly says: string
  readonly status: number
}

interface Asked {
  readonly at: AtNode
  readonly pr: Pull
  readonly resolving: Resolving
}

function resolvePage(visit: PageContext, { at, pr, resolving }: Asked, problem?: Problem): Page {
  const questions = resolving.files.flatMap((file) => file.questions)
  return framed(visit, at, pr, {
    status: problem?.status ?? 200,
    facts: { questions, problem },
    children: () => (
      <form class="resolving" method="post" action={visit.urls.resolve(at.org.id, at.node.id, pr.number)}>
        {problem && (
          <p class="problem" role="alert">
            {problem.says}
          </p>
        )}
        <p>{wordsOf(questions.length)}</p>
        <Heads resolving={resolving} />
        <Questions questions={questions} form={visit.form} />
        <button class="btn go" type="submit">
          Save to the proposal
        </button>
        <button class="btn" type="submit" name="act" value="edit">
          Save, then edit the text
        </button>
      </form>
    ),
  })
}

function wordsOf(count: number): string {
  if (count === 0) return 'The changes of both fit together. Save them to the proposal.'
  const places = count === 1 ? 'the same place' : `the same ${count} places`
  return `The page has changed since this proposal began, at ${places}. Choose what the proposal says there. Nothing on the page changes until the proposal is merged.`
}

function Heads({ resolving: { source, target } }: { readonly resolving: Resolving }) {
  return (
    <>
      <input type="hidden" name="source" value={source} />
      <input type="hidden" name="target" value={target} />
    </>
  )
}

const said: Readonly<Record<Choice, string>> = { theirs: 'As on the page', yours: 'As proposed', both: 'Both' }

function Questions({ questions, form }: { readonly questions: readonly Question[]; readonly form: URLSearchParams }) {
  const effort = newEffort()
  return (
    <>
      {questions.map((question, at) => (
        <fieldset class="box clash">
          <legend>
            {question.label}
            {questions.length > 1 && <small> · {`${at + 1} of ${questions.length}`}</small>}
          </legend>
          <Side {...{ question, effort, form }} choice="theirs" />
          <Side {...{ question, effort, form }} choice="yours" />
          {question.kind === 'passage' && <Side {...{ question, effort, form }} choice="both" />}
        </fieldset>
      ))}
    </>
  )
}

interface SideProps {
  readonly question: Question
  readonly choice: Choice
  readonly effort: Effort
  readonly form: URLSearchParams
}

/** A text begins with both sides, so that a hasty click deletes nothing. Other places have to be chosen. */
function Side({ question, choice, effort, form }: SideProps) {
  const { name, kind, start } = question
  const sent = form.get(name)
  const isChosen = sent === null ? choice === 'both' : sent === choice
  return (
    <label>
      <input type="radio" name={name} value={choice} required checked={isChosen} /> <strong>{said[choice]}</strong>
      {choice !== 'both' && kind === 'file' && <span class="why"> {question[choice]}</span>}
      {choice !== 'both' && kind !== 'file' && <TextDiff before={start} after={question[choice]} effort={effort} />}
      {choice === 'both' && <span class="why"> one after the other, for example to edit them afterwards</span>}
    </label>
  )
}

/** Says how to resolve with Git what the form cannot show. */
function gitPage(visit: PageContext, at: AtNode, pr: Pull, paths: readonly string[]): Page {
  const { source_branch: source, target_branch: target } = pr
  const commands = [
    'git fetch origin',
    `git switch ${source}`,
    `git rebase origin/${target}`,
    `git push --force-with-lease origin ${source}`,
  ]
  return framed(visit, at, pr, {
    status: 409,
    facts: { paths },
    children: () => (
      <>
        <div class="problem" role="alert">
          <p>Too much was changed on both sides to resolve it here. Resolve it in a clone:</p>
          <ul>
            {paths.map((path) => (
              <li>
                <span class="ref">{path}</span>
              </li>
            ))}
          </ul>
        </div>
        <pre class="sha">{commands.join('\n')}</pre>
      </>
    ),
  })
}

interface Framed {
  readonly status: number
  readonly facts: object
  children(): ComponentChildren
}

function framed(visit: PageContext, at: AtNode, pr: Pull, { status, facts, children }: Framed): Page {
  const { urls } = visit
  const { org, node } = at
  const back = linkTo(visit, at, pr)
  const between = [
    { title: 'Proposals', href: urls.proposals(org.id, node.id) },
    { title: `#${pr.number}`, href: back },
  ]
  return {
    ...{ kind: 'page', status, facts: { at, pr, ...facts }, place: { org, crumb: node.title } },
    head: { title: `Resolve ${pr.title} · ${node.title}`, noIndex: true },
    body: () => (
      <main id="main" class="page">
        <NodePath visit={visit} at={at} between={between} />
        <h1>Resolve “{pr.title}”</h1>
        {children()}
        <p>
          <a class="btn" href={back}>
            Back to the proposal
          </a>
        </p>
      </main>
    ),
  }
}
