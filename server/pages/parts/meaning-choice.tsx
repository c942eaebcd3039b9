/** The owners' choice for search by meaning, in the settings of an organisation. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'

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

/** Returns the choice that the form sends; null takes it back. @throws AppError bad_request */
export function meaningChoice(form: URLSearchParams): boolean | null {
  const found = Object.entries(choices).find(([name]) => name === form.get('embeddings'))
  if (found === undefined) throw new AppError('bad_request', 'The form does not name a known choice')
  return found[1]
}

interface ChoiceProps {
  readonly org: Org
  readonly facts: MeaningFacts | undefined
  readonly action: string
}

export function MeaningChoice({ org, facts, action }: ChoiceProps) {
  return (
    <section aria-labelledby="meaning">
      <h2 id="meaning">Search by meaning</h2>
      {facts === undefined ? (
        <p>This service has no model for it. Searches find pages by their words.</p>
      ) : (
        <Explained facts={facts} />
      )}
      {(facts !== undefined || org.embeddings !== undefined) && <Choices org={org} facts={facts} action={action} />}
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

function Choices({ org, facts, action }: ChoiceProps) {
  const byDefault = facts?.isDefault === true ? 'allowed' : 'not allowed'
  const options = [
    ['allow', 'Allow', undefined],
    ['refuse', 'Do not allow', 'The vectors of all pages are erased immediately.'],
    ['default', `As the service is configured (${byDefault})`, undefined],
  ] as const
  return (
    <form method="post" action={action} class="ask">
      <fieldset class="choice-list">
        <legend>Search by meaning in this organisation</legend>
        {options.map(([value, title, says]) => (
          <label class="check">
            <input type="radio" name="embeddings" value={value} checked={(org.embeddings ?? null) === choices[value]} />
            <span>
              {title} {says !== undefined && <small>{says}</small>}
            </span>
          </label>
        ))}
      </fieldset>
      <button type="submit" class="btn" name="act" value="embeddings">
        Save choice
      </button>
    </form>
  )
}
