/** The owners' choice for search by meaning, in the settings of an organisation. */

import type { VNode } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import { choice, type Options } from '../kit/controls.tsx'
import { act } from '../kit/settings.tsx'
import { type PageContext, param } from '../page-context.ts'

type Org = AnswerOf<'getOrg'>

/** Facts about search by meaning in one organisation. */
export interface MeaningFacts {
  readonly model: string
  readonly leavesMachine: boolean
  /** True if the service does it while the owners have not chosen. */
  readonly isDefault: boolean
  /** True if the service does it once the owners allow it. */
  readonly isPossible: boolean
}

/** Reads the facts. Undefined: the service has no model. */
export function meaningFacts({ embeddings }: PageContext, { id }: Org): MeaningFacts | undefined {
  if (embeddings === undefined) return undefined
  const { name: model, leavesMachine } = embeddings.model
  const isDefault = embeddings.allows({ id, embeddings: null })
  return { model, leavesMachine, isDefault, isPossible: embeddings.allows({ id, embeddings: true }) }
}

const choices = { allow: true, refuse: false, default: null } as const
type Choice = keyof typeof choices

const words: Readonly<Record<Choice, string>> = {
  allow: 'Allow',
  refuse: 'Do not allow. The vectors of all pages are erased immediately',
  default: 'As the service is configured',
}

/** Lets the owners choose. */
export const chooseMeaning = act(
  'Save choice',
  {
    embeddings: choice('Search by meaning in this organisation', Object.entries(words) as [Choice, string][]), // its keys
  },
  (visit, { embeddings }) =>
    visit.api.updateOrg({ path: { org_id: param(visit, 'org') }, body: { embeddings: choices[embeddings] } }),
  'plain',
)

interface ChoiceProps {
  readonly org: Org
  readonly facts: MeaningFacts | undefined
  /** Draws the form. */
  readonly form: (fill: {
    readonly values: { readonly embeddings: Choice }
    readonly options: { readonly embeddings: Options<string> }
  }) => VNode
}

export function MeaningChoice({ org, facts, form }: ChoiceProps) {
  const chosen = org.embeddings === undefined ? 'default' : org.embeddings ? 'allow' : 'refuse'
  const byDefault = `${words.default} (${facts?.isDefault === true ? 'allowed' : 'not allowed'})`
  return (
    <section aria-labelledby="meaning">
      <h2 id="meaning">Search by meaning</h2>
      {facts === undefined ? (
        <p>This service has no model for it. Searches find pages by their words.</p>
      ) : (
        <Explained facts={facts} />
      )}
      {(facts !== undefined || org.embeddings !== undefined) &&
        form({
          values: { embeddings: chosen },
          options: { embeddings: Object.entries({ ...words, default: byDefault }) },
        })}
    </section>
  )
}

function Explained({ facts: { model, leavesMachine, isPossible } }: { readonly facts: MeaningFacts }) {
  return (
    <>
      <p>
        If the words of a search find little, this service can compare its meaning with that of the pages. It uses the
        model <bdi>{model}</bdi>.
      </p>
      <p>
        {leavesMachine
          ? 'If it is allowed, the texts of all pages are sent to the provider of this model, and questions that words do not answer.'
          : 'Texts and questions do not leave the machine of this service.'}
      </p>
      {!isPossible && <p>The operator has not enabled it for this organisation.</p>}
    </>
  )
}
