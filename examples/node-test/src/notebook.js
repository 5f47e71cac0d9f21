/** Notes that nobody can take away: stored through turbo-sdk, found by GraphQL, read from a gateway. */
export class Notebook {
  /**
   * @param {{ turbo: import('@ardrive/turbo-sdk').TurboAuthenticatedClient, gatewayUrl: string }} options
   */
  constructor({ turbo, gatewayUrl }) {
    this.turbo = turbo;
    this.gatewayUrl = gatewayUrl;
  }

  /** Answers the id of the note. */
  async write(title, text) {
    const { id } = await this.turbo.upload({
      data: text,
      dataItemOpts: {
        tags: [
          { name: 'Content-Type', value: 'text/plain' },
          { name: 'App-Name', value: 'Notebook' },
          { name: 'Title', value: title },
        ],
      },
    });
    return id;
  }

  async read(id) {
    const answer = await fetch(`${this.gatewayUrl}/raw/${id}`);
    if (!answer.ok) throw new Error(`the note ${id} cannot be read: ${answer.status}`);
    return answer.text();
  }

  /** The titles of all notes, the newest first. */
  async titles() {
    const query = `{
      transactions(tags: [{ name: "App-Name", values: ["Notebook"] }], first: 100) {
        edges { node { tags { name value } } }
      }
    }`;
    const answer = await fetch(`${this.gatewayUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data } = await answer.json();
    return data.transactions.edges.map(({ node }) => node.tags.find(({ name }) => name === 'Title').value);
  }
}
